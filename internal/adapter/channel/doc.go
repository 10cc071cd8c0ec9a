// Package channel makes the adapters of chat platforms from a configuration file.
package channel
