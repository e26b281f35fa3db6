"""Which epsilon does a mechanism or a policy really have?"""
