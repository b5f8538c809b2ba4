"""What all figures share: colours, layout, axes, and names beside marks."""
