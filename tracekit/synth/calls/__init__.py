"""Call graphs: who may call whom, the calls of each trace, and the records they leave."""
