"""What D2T2 is compared with: squares that fit, just fit or nearly fit, and tiles that grow while in use."""
