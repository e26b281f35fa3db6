"""Tables from outside and tables that leave."""
