"""Predictions of the time model beside measured points."""
