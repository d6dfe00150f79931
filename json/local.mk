# json/
