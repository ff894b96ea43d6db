"""What the traffic is, as a Prometheus that scrapes the serving engines has recorded it."""
