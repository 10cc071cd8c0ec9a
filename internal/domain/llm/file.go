package llm

import (
	"context"
	"fmt"
	"strings"
)

// Files reads the content of a file by its SHA-256 in hexadecimal digits.
type Files func(ctx context.Context, sha256 string) ([]byte, error)

// Image is an image of a message. A request names it, so that stored requests stay small: its content becomes a data
// URL when the request is sent.
type Image struct {
	URL string `json:"url"` // attachment:TYPE;SHA256 or, in a parsed request, any URL
}

// Audio is a recording to transcribe.
type Audio struct {
	URL   string // as that of an Image
	Bytes int    // size of the recording
}

const attachmentScheme = "attachment:"

// AttachmentURL returns the URL of a stored file with a MIME type and a SHA-256 in hexadecimal digits.
func AttachmentURL(mime, sha256 string) string {
	return fmt.Sprintf("%s%s;%s", attachmentScheme, mime, sha256)
}

// ParseAttachmentURL is the inverse of AttachmentURL.
func ParseAttachmentURL(url string) (mime, sha256 string, ok bool) {
	rest, ok := strings.CutPrefix(url, attachmentScheme)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ";")
}

// Estimates of usage, for reservations and for endpoints that do not report it.
const (
	// ImageTokens is the usage of an image. Providers count 85 to 1,600 tokens, by its size.
	ImageTokens = 1_000
	// AudioTokensPerSecond is how a second of a recording is counted. OpenAI counts as much.
	AudioTokensPerSecond = 10
	// audioBytesPerSecond is that of a compressed recording of speech, so that it is not underestimated.
	audioBytesPerSecond = 2_000
)

// EstimateFiles estimates the tokens of the images and of the recording of a request.
func EstimateFiles(r Request) (tokens int) {
	for _, m := range r.Messages {
		tokens += len(m.Images) * ImageTokens
	}
	if r.Audio != nil {
		tokens += EstimateAudio(r.Audio.Bytes)
	}
	return tokens
}

// EstimateAudio estimates the tokens of a recording by its size in bytes.
func EstimateAudio(bytes int) int { return (bytes/audioBytesPerSecond + 1) * AudioTokensPerSecond }
