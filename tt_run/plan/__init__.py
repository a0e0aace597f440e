"""`LaunchPlan`: what a launch will do, as pure functions of its inputs; joint checks, placement, and views of it."""
