# launcher/
