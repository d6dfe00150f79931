# lint/
