"""Where results lie over cores when a call does not say."""
