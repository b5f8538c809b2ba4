"""Which assumptions matter: the study of changed assumptions."""
