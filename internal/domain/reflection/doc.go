// Package reflection has the rows of the daily review of a user's conversations.
package reflection
