// Package modelcall has the rows of the ledger of model calls.
package modelcall
