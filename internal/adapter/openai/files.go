package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"regexp"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
)

// attachment matches the URL of a file in the body of a request. Inside a text its quotes would be escaped.
var attachment = regexp.MustCompile(`"url":"(attachment:[a-z0-9/.+-]+;[0-9a-f]{64})"`)

// withFiles returns the body of a request in which data URLs replace those of files.
func withFiles(ctx context.Context, p llm.PreparedRequest) ([]byte, error) {
	found := attachment.FindAllSubmatchIndex(p.Body, -1)
	if len(found) == 0 {
		return p.Body, nil
	}
	var out bytes.Buffer
	from := 0
	for _, at := range found {
		mime, content, err := fileOf(ctx, p, string(p.Body[at[2]:at[3]]))
		if err != nil {
			return nil, err
		}
		out.Write(p.Body[from:at[2]])
		out.WriteString("data:" + mime + ";base64,")
		encoder := base64.NewEncoder(base64.StdEncoding, &out)
		_, _ = encoder.Write(content) // a buffer takes everything
		_ = encoder.Close()
		from = at[3]
	}
	out.Write(p.Body[from:])
	return out.Bytes(), nil
}

// fileOf reads a file that a request names. A file that was erased or has expired is a permanent failure.
func fileOf(ctx context.Context, p llm.PreparedRequest, url string) (mime string, content []byte, err error) {
	mime, sha, ok := llm.ParseAttachmentURL(url)
	if !ok || p.Files == nil {
		return "", nil, &llm.Error{Class: llm.Fatal, Message: "the request names a file that cannot be read"}
	}
	content, err = p.Files(ctx, sha)
	switch {
	case err == nil:
		return mime, content, nil
	case ctx.Err() != nil:
		return "", nil, interrupted(ctx.Err(), false)
	case fault.CodeOf(err) == fault.NotFound:
		return "", nil, &llm.Error{Class: llm.Fatal, Message: "a file of the request does not exist any more"}
	}
	return "", nil, &llm.Error{Class: llm.Retryable, Message: "read a file of the request: " + err.Error(),
		Cause: errors.Unwrap(err)}
}
