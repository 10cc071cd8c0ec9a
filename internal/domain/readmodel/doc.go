// Package readmodel has rows that are read for people only: lists, counts and health.
package readmodel
