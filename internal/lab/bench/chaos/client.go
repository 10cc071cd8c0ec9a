package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// errAgain means that a stream ended with an error, and its request may be sent again.
var errAgain = errors.New("send the request again")

// message sends a message as an SDK does, again after each error, and stores the text of the whole stream.
func (e *streamExperiment) message(ctx context.Context, name string, same bool) {
	kind := "another"
	if same {
		kind = "the same"
	}
	over := time.Now().Add(e.options.Patience)
	for attempt := 0; ctx.Err() == nil; attempt++ {
		text, err := e.stream(ctx, name+": tell "+kind+" story", attempt)
		e.mu.Lock()
		switch {
		case err == nil:
			e.result.Messages++
			e.result.Whole++
			e.got[name] = text
		case time.Now().After(over) || !errors.Is(err, errAgain):
			e.result.Messages++
			e.result.Lost++
			e.find("%s: %v", name, err)
		default:
			e.result.Broken++
		}
		e.mu.Unlock()
		if err == nil || !errors.Is(err, errAgain) || time.Now().After(over) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// stream sends a request and returns the text of its stream. It returns errAgain if the stream states an error.
func (e *streamExperiment) stream(ctx context.Context, text string, attempt int) (got string, err error) {
	body, err := json.Marshal(map[string]any{"model": "cairn", "stream": true,
		"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+e.key)
	r.Header.Set("X-Stainless-Retry-Count", fmt.Sprint(attempt))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(response.Body) // for the message only
		err := fmt.Errorf("status %d: %s", response.StatusCode, raw)
		if response.StatusCode >= http.StatusInternalServerError {
			err = errors.Join(errAgain, err)
		}
		return "", err
	}
	e.open.Add(1)
	defer e.open.Add(-1)
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return got, nil
		}
		var part struct {
			Choices []struct{ Delta struct{ Content string } }
			Error   *struct{ Message string }
		}
		if err := json.Unmarshal([]byte(data), &part); err != nil {
			return "", err
		}
		if part.Error != nil {
			return "", errors.Join(errAgain, errors.New(part.Error.Message))
		}
		for _, c := range part.Choices {
			got += c.Delta.Content
		}
	}
	return "", errors.New("the stream ended without an error and without [DONE]")
}
