//go:build !race

package filetext_test

const raceDetector = false
