// Package door holds what the gateway's packages for foreign APIs share.
package door

import (
	"net/http"

	"cairn/internal/domain/fault"
)

// Refusal is an error as the caller sees it.
type Refusal struct {
	Status        int
	Header        http.Header
	Code          fault.Code
	Message, Hint string
}
