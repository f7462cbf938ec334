"""Generators that learn with torch on the processor: conditional GAN, variational autoencoder, diffusion."""
