# site/
