# model/: the tables everything else is generated from.
