"""vCPUs: how hosts are built, who is bound where, and what neighbours press."""
