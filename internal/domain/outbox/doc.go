// Package outbox has the tasks that are stored together with what they are about, and delivered afterwards.
package outbox
