// Package scheduled has scheduled tasks and their firings.
package scheduled
