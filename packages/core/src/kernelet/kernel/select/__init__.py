"""Selection: named, else the one best fit, else an error that lists the choices and the flag; every reason is kept."""
