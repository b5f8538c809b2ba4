"""Which requests to change, by recorded use: recommended on one part of it, judged on the rest."""
