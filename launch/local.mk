# launch/
