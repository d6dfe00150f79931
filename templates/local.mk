# templates/
