"""What belongs together: operators, launches, what ran on devices, steps, autograd's nodes."""
