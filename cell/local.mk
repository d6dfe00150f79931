# cell/
