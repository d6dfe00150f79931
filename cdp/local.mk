# cdp/
