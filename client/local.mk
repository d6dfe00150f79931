# client/
