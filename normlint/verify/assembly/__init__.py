"""From a program to a norm that can be built in any size: arguments, further inputs, layouts."""
