# workerd/
