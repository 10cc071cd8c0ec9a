package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

// Huma creates all its errors through the variable NewError.
func init() { huma.NewError = fromHuma }

// listed is the maximum number of violations that a message lists. A body may have one for each of its values.
const listed = 20

// fromHuma converts an error of huma into a Problem with Cairn's status.
func fromHuma(status int, message string, errs ...error) huma.StatusError {
	for _, err := range errs[:min(len(errs), listed)] {
		var coded *fault.Error
		var known *edge.Problem
		var tooLarge *http.MaxBytesError
		if errors.As(err, &coded) || errors.As(err, &known) || errors.As(err, &tooLarge) {
			return edge.ProblemOf(err)
		}
		if detail, ok := err.(huma.ErrorDetailer); ok { // omits the value, which may be the whole body
			d := detail.ErrorDetail()
			message += "; " + strings.TrimPrefix(d.Location+": "+d.Message, ": ")
		}
	}
	switch {
	case status == http.StatusNotFound:
		return edge.NewProblem(fault.NotFound, message, "")
	case status == http.StatusRequestEntityTooLarge:
		return edge.NewProblem(fault.TooLarge, message, "")
	case status == http.StatusRequestTimeout:
		return edge.NewProblem(fault.RequestTimeout, message, "")
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return edge.NewProblem(fault.InvalidArgument, message, requestHint(message))
	}
	return edge.NewProblem(fault.Internal, "unexpected failure", "")
}

// requestHint shows how to correct a request that huma rejects with message.
func requestHint(message string) string {
	for _, c := range []struct{ part, hint string }{
		{"unknown content type", "add the header Content-Type: application/json"},
		{"unknown query parameter", "correct the name; docs/reference/http.md lists the parameters of each route"},
		{"invalid character", "send valid JSON: check its quotes, commas and brackets"},
		{"unexpected end of JSON", "send the complete JSON body"},
	} {
		if strings.Contains(message, c.part) {
			return c.hint
		}
	}
	return "correct the request; see /openapi.json for the schema"
}
