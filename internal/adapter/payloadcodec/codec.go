// Package payloadcodec encrypts workflow payloads, so that operators of the Temporal server cannot
// read them. Workflow IDs, search attributes and the names of workflows and activities are not
// encrypted.
package payloadcodec

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"cairn/internal/domain/fault"
)

const (
	encrypted = "binary/encrypted" // value of converter.MetadataEncoding
	keyName   = "encryption-key-id"
	keyBytes  = 32 // AES-256
)

// Codec encrypts with AES-GCM and the first of its keys. It decrypts data of any of its keys and
// passes on unencrypted data. Encryption can therefore be enabled, and keys can be rotated, while
// workflows run.
type Codec struct {
	current string // ID of the key that encrypts
	keys    map[string]cipher.AEAD
}

var _ converter.PayloadCodec = (*Codec)(nil)

// New returns a codec for keys: each the base64 of 32 bytes, separated by commas. It returns nil if
// keys is empty.
func New(keys string) (*Codec, error) {
	if strings.TrimSpace(keys) == "" {
		return nil, nil
	}
	c := &Codec{keys: map[string]cipher.AEAD{}}
	for i, text := range strings.Split(keys, ",") {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil || len(raw) != keyBytes {
			return nil, fault.New(fault.Misconfigured,
				fmt.Sprintf("key %d of CAIRN_PAYLOAD_KEYS is not the base64 of %d bytes", i+1, keyBytes),
				"generate a key: openssl rand -base64 32")
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("key %d of CAIRN_PAYLOAD_KEYS: %w", i+1, err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("key %d of CAIRN_PAYLOAD_KEYS: %w", i+1, err)
		}
		sum := sha256.Sum256(raw)
		id := hex.EncodeToString(sum[:4])
		if c.keys[id] = aead; i == 0 {
			c.current = id
		}
	}
	return c, nil
}

// Encode encrypts payloads.
func (c *Codec) Encode(plain []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(plain))
	for i, p := range plain {
		raw, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encode a payload: %w", err)
		}
		aead := c.keys[c.current]
		nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(raw)+aead.Overhead())
		if _, err := rand.Read(nonce); err != nil {
			return nil, fmt.Errorf("encrypt a payload: %w", err)
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted),
			keyName: []byte(c.current)},
			Data: aead.Seal(nonce, nonce, raw, []byte(c.current))}
	}
	return out, nil
}

// Decode is the inverse of Encode. Unencrypted payloads are returned unchanged.
func (c *Codec) Decode(stored []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(stored))
	for i, p := range stored {
		if !Encrypted(p) {
			out[i] = p
			continue
		}
		id := string(p.Metadata[keyName])
		aead, known := c.keys[id]
		if !known {
			return nil, fmt.Errorf("payload encrypted with unknown key %q: not in CAIRN_PAYLOAD_KEYS", id)
		}
		size := aead.NonceSize()
		if len(p.Data) < size {
			return nil, fmt.Errorf("encrypted payload too short: %d bytes", len(p.Data))
		}
		raw, err := aead.Open(nil, p.Data[:size], p.Data[size:], []byte(id))
		if err != nil {
			return nil, fmt.Errorf("decrypt a payload: %w", err)
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(raw, out[i]); err != nil {
			return nil, fmt.Errorf("decode a payload: %w", err)
		}
	}
	return out, nil
}

// Encrypted reports whether p was encrypted by a Codec.
func Encrypted(p *commonpb.Payload) bool {
	return string(p.GetMetadata()[converter.MetadataEncoding]) == encrypted
}
