# supervisord/
