# storage/
