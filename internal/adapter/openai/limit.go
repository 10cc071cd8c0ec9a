package openai

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3/option"

	"cairn/internal/domain/llm"
)

// Limits of responses in bytes. A broken or hostile endpoint must not fill the memory of a worker or the ledger.
const (
	DefaultMaxReply = 4 << 20
	embeddingBytes  = 64 << 20  // a batch of vectors as text
	errorBytes      = 64 << 10  // of a response that is not 2xx; the rest is not read
	streamFactor    = 16        // times MaxReply: each part of a stream repeats its frame
	answerBytes     = 256 << 10 // of the text and the tool calls of an answer
)

var errReplyTooLarge = errors.New("response too large")

// limitReply limits the body of a response.
func (c Config) limitReply(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(r)
	if err != nil {
		return response, err
	}
	limit := &limitedBody{ReadCloser: response.Body, left: c.maxReply()}
	if response.StatusCode >= http.StatusMultipleChoices {
		limit.left, limit.end = errorBytes, io.EOF
	} else {
		limit.end = errReplyTooLarge
		if isStream(response) { // it is not held in memory
			limit.left *= streamFactor
		}
	}
	response.Body = limit
	return response, nil
}

func (c Config) maxReply() int64 { return cmp.Or(c.MaxReply, DefaultMaxReply) }

func (c Config) tooLarge() string {
	return fmt.Sprintf("response of the model endpoint exceeds %d bytes (CAIRN_LLM_REPLY_BYTES)", c.maxReply())
}

// limitedBody returns end instead of more than left bytes.
type limitedBody struct {
	io.ReadCloser
	left int64
	end  error
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.end
	}
	if int64(len(p)) > b.left+1 { // one more byte shows that the limit is exceeded
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) <= b.left {
		b.left -= int64(n)
		return n, err
	}
	n, b.left = int(b.left), -1
	return n, b.end
}

// checkSize refuses an answer whose text and calls are too long.
func checkSize(r llm.Reply) *llm.Error {
	size := max(len(r.Text), len(r.Refusal)) // a refusal can be the text
	for _, call := range r.Calls {
		size += len(call.ID) + len(call.Name) + len(call.Arguments)
	}
	if size <= answerBytes {
		return nil
	}
	return answerTooLarge()
}

func answerTooLarge() *llm.Error {
	return &llm.Error{Class: llm.Invalid, Status: http.StatusOK, Sent: true,
		Message: fmt.Sprintf("answer of the model exceeds %d bytes", answerBytes)}
}
