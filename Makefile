# Aliases only: `make test` is `python3 start.py test`. Options go to start.py itself.
PYTHON ?= python3

.PHONY: lab venv test lessons lint bench bench-sim profile-gpu course test-classroom
lab venv test lessons lint bench bench-sim profile-gpu course test-classroom:
	@$(PYTHON) start.py $@
