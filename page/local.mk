# page/
