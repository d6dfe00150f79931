# ctl/
