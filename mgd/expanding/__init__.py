"""What a descriptor means: references resolved, templates turned into instances, links and pins worked out."""
