"""Policies: their interfaces, their parsing from text and files, and checks of their promises."""
