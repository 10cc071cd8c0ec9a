package openaitest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode"
)

func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	var request struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Dimensions int             `json:"dimensions"`
		Encoding   string          `json:"encoding_format"`
	}
	var texts []string
	err = json.Unmarshal(body, &request)
	if err == nil && json.Unmarshal(request.Input, &texts) != nil {
		texts = make([]string, 1)
		err = json.Unmarshal(request.Input, &texts[0])
	}
	if err != nil || len(texts) == 0 {
		writeError(w, http.StatusBadRequest, "input must be a text or a list of texts")
		return
	}
	call := newCall(r, body, texts[len(texts)-1])
	if call.Stage == "" {
		call.Stage = stageEmbed
	}
	_, rule, _ := s.record(call)
	if !s.hold(r, rule, arrived) || fail(w, rule) {
		return
	}
	s.mu.Lock()
	dims := s.dims
	if request.Dimensions > 0 {
		dims = request.Dimensions
	}
	if s.wrong {
		dims++
	}
	synonyms := s.synonyms
	s.mu.Unlock()
	data := make([]any, len(texts))
	for i, text := range texts {
		var vector any = Embedding(withConcepts(text, synonyms), dims)
		if request.Encoding == "base64" {
			vector = encodeVector(vector.([]float32))
		}
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": vector}
	}
	answer := mustJSON(map[string]any{"object": "list", "model": request.Model, "data": data,
		"usage": map[string]any{"prompt_tokens": len(body) / 4, "total_tokens": len(body) / 4}})
	if rule.DropAfter {
		cutHalfway(w, "application/json", answer)
		return
	}
	writeBody(w, http.StatusOK, "application/json", answer)
}

// Embedding returns the vector that the server computes for text: counts of lower-case runs of
// letters and digits (of single CJK characters), each at FNV-1a 64 modulo dims, at unit length. A
// text without any gets the zero vector. Synonyms are not considered.
func Embedding(text string, dims int) []float32 {
	counts := make([]float64, dims)
	for _, word := range embeddingWords(text) {
		hash := fnv.New64a()
		_, _ = io.WriteString(hash, word)
		counts[hash.Sum64()%uint64(dims)]++
	}
	length := 0.0
	for _, count := range counts {
		length += count * count
	}
	vector := make([]float32, dims)
	if length == 0 {
		return vector
	}
	for i, count := range counts {
		vector[i] = float32(count / math.Sqrt(length))
	}
	return vector
}

func embeddingWords(text string) []string {
	var spaced strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			spaced.WriteString(" " + string(r) + " ")
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			spaced.WriteRune(r)
		default:
			spaced.WriteByte(' ')
		}
	}
	return strings.Fields(spaced.String())
}

// encodeVector is OpenAI's base64 form: little-endian 32-bit floats.
func encodeVector(vector []float32) string {
	data := make([]byte, 0, 4*len(vector))
	for _, number := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(number))
	}
	return base64.StdEncoding.EncodeToString(data)
}
