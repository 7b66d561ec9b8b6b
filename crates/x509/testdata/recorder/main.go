// Command recorder makes certificates and records what Go's crypto/x509 says about them.
//
//	go run crates/x509/testdata/recorder/main.go > crates/x509/testdata/verdicts.json
//
// The test of keelson-x509 asks our verifier the same questions.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net"
	"net/url"
	"os"
	"time"
)

// now is the time of every verification.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// recording is what is written: every certificate once, and questions about them.
type recording struct {
	Now          int64      `json:"now"`
	Certificates []string   `json:"certificates"`
	Questions    []question `json:"questions"`
}

// question is one verification and Go's verdict. Certificates are told by their places.
type question struct {
	Name    string `json:"name"`
	Chain   []int  `json:"chain"`
	Roots   []int  `json:"roots"`
	Host    string `json:"host"`
	Purpose string `json:"purpose"`
	Verdict string `json:"verdict"`
}

// pair is a certificate with its key.
type pair struct {
	der  []byte
	cert *x509.Certificate
	key  crypto.Signer
}

var serial int64

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func ecKey() crypto.Signer  { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }
func rsaKey() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) }

// template is valid around now; change may say otherwise.
func template(name string, change func(*x509.Certificate)) *x509.Certificate {
	serial++
	it := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
	if change != nil {
		change(it)
	}
	return it
}

func finish(der []byte, key crypto.Signer) *pair {
	return &pair{der, must(x509.ParseCertificate(der)), key}
}

// root is a self-signed certificate.
func root(name string, key crypto.Signer, change func(*x509.Certificate)) *pair {
	it := template(name, change)
	return finish(must(x509.CreateCertificate(rand.Reader, it, it, key.Public(), key)), key)
}

// issue makes a certificate below parent.
func (parent *pair) issue(name string, key crypto.Signer, change func(*x509.Certificate)) *pair {
	it := template(name, change)
	return finish(must(x509.CreateCertificate(rand.Reader, it, parent.cert, key.Public(), parent.key)), key)
}

func ca(it *x509.Certificate) { it.IsCA, it.BasicConstraintsValid = true, true }

func both(changes ...func(*x509.Certificate)) func(*x509.Certificate) {
	return func(it *x509.Certificate) {
		for _, change := range changes {
			change(it)
		}
	}
}

func dns(names ...string) func(*x509.Certificate) {
	return func(it *x509.Certificate) { it.DNSNames = names }
}

func ips(addresses ...string) func(*x509.Certificate) {
	return func(it *x509.Certificate) {
		for _, address := range addresses {
			it.IPAddresses = append(it.IPAddresses, net.ParseIP(address))
		}
	}
}

func uris(texts ...string) func(*x509.Certificate) {
	return func(it *x509.Certificate) {
		for _, text := range texts {
			it.URIs = append(it.URIs, must(url.Parse(text)))
		}
	}
}

func usage(usages ...x509.ExtKeyUsage) func(*x509.Certificate) {
	return func(it *x509.Certificate) { it.ExtKeyUsage = usages }
}

func keyUsage(usage x509.KeyUsage) func(*x509.Certificate) {
	return func(it *x509.Certificate) { it.KeyUsage = usage }
}

func expired(it *x509.Certificate) { it.NotAfter = now.Add(-time.Hour) }
func future(it *x509.Certificate)  { it.NotBefore = now.Add(time.Hour) }

func pathLength(most int) func(*x509.Certificate) {
	return func(it *x509.Certificate) { it.MaxPathLen, it.MaxPathLenZero = most, most == 0 }
}

func extension(id asn1.ObjectIdentifier, critical bool, value any) func(*x509.Certificate) {
	return func(it *x509.Certificate) {
		der := must(asn1.Marshal(value))
		it.ExtraExtensions = append(it.ExtraExtensions, pkix.Extension{Id: id, Critical: critical, Value: der})
	}
}

func network(text string) *net.IPNet {
	_, it, err := net.ParseCIDR(text)
	must(0, err)
	return it
}

// old makes a certificate of version 1, as `openssl x509 -req` does without extensions.
func old(name string, parent *pair, key crypto.Signer) *pair {
	type validity struct{ NotBefore, NotAfter time.Time }
	type body struct {
		SerialNumber *big.Int
		Algorithm    pkix.AlgorithmIdentifier
		Issuer       asn1.RawValue
		Validity     validity
		Subject      asn1.RawValue
		PublicKey    asn1.RawValue
	}
	type certificate struct {
		Body      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	serial++
	subject := must(asn1.Marshal(pkix.Name{CommonName: name}.ToRDNSequence()))
	issuer, signer := subject, key
	if parent != nil {
		issuer, signer = parent.cert.RawSubject, parent.key
	}
	// ECDSA with SHA-256.
	algorithm := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}}
	signed := must(asn1.Marshal(body{
		SerialNumber: big.NewInt(serial),
		Algorithm:    algorithm,
		Issuer:       asn1.RawValue{FullBytes: issuer},
		Validity:     validity{now.Add(-time.Hour), now.Add(time.Hour)},
		Subject:      asn1.RawValue{FullBytes: subject},
		PublicKey:    asn1.RawValue{FullBytes: must(x509.MarshalPKIXPublicKey(key.Public()))},
	}))
	digest := sha256.Sum256(signed)
	signature := must(signer.Sign(rand.Reader, digest[:], crypto.SHA256))
	der := must(asn1.Marshal(certificate{
		Body:      asn1.RawValue{FullBytes: signed},
		Algorithm: algorithm,
		Signature: asn1.BitString{Bytes: signature, BitLength: len(signature) * 8},
	}))
	return finish(der, key)
}

var recorded = recording{Now: now.Unix()}

var places = map[string]int{}

func place(it *pair) int {
	at, known := places[string(it.der)]
	if !known {
		at = len(recorded.Certificates)
		places[string(it.der)] = at
		recorded.Certificates = append(recorded.Certificates, base64.StdEncoding.EncodeToString(it.der))
	}
	return at
}

// ask records the verdict about the first of chain for both purposes.
func ask(name string, chain, roots []*pair, hosts ...string) {
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	for _, host := range hosts {
		for _, purpose := range []string{"server", "client"} {
			if purpose == "client" && host != "" {
				continue
			}
			it := question{Name: name, Chain: []int{place(chain[0])}, Host: host, Purpose: purpose}
			options := x509.VerifyOptions{
				DNSName:       host,
				Roots:         x509.NewCertPool(),
				Intermediates: x509.NewCertPool(),
				CurrentTime:   now,
				KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			}
			if purpose == "client" {
				options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
			}
			for _, other := range chain[1:] {
				it.Chain = append(it.Chain, place(other))
				options.Intermediates.AddCert(other.cert)
			}
			for _, anchor := range roots {
				it.Roots = append(it.Roots, place(anchor))
				options.Roots.AddCert(anchor.cert)
			}
			it.Verdict = "ok"
			if _, err := chain[0].cert.Verify(options); err != nil {
				it.Verdict = err.Error()
			}
			recorded.Questions = append(recorded.Questions, it)
		}
	}
}

func list(pairs ...*pair) []*pair { return pairs }

func main() {
	anchors()
	names()
	usages()
	times()
	paths()
	constraints()
	signatures()
	versions()
	oddities()
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	must(0, encoder.Encode(recorded))
}

func anchors() {
	own := root("own", ecKey(), dns("a.example"))
	ownCA := root("own-ca", ecKey(), both(ca, dns("a.example")))
	other := root("other", ecKey(), ca)
	ask("self-signed leaf that is the anchor", list(own), list(own), "a.example", "b.example", "")
	ask("self-signed leaf that is not trusted", list(own), list(other), "a.example")
	ask("self-signed authority as leaf and anchor", list(ownCA), list(ownCA), "a.example", "b.example", "")
	ask("self-signed authority as leaf that is not trusted", list(ownCA), list(other), "a.example")
	authority := root("ca", ecKey(), ca)
	ask("leaf", list(authority.issue("leaf", ecKey(), dns("a.example"))), list(authority), "a.example", "")
	leafCA := authority.issue("leaf-ca", ecKey(), both(ca, dns("a.example")))
	ask("leaf that is marked as an authority", list(leafCA), list(authority), "a.example", "")
	ask("leaf that is marked as an authority and is the anchor", list(leafCA), list(leafCA), "a.example", "")
	leaf := authority.issue("leaf", ecKey(), dns("a.example"))
	ask("leaf that is the anchor, its issuer unknown", list(leaf), list(leaf), "a.example", "b.example")
	namesake := root("ca", ecKey(), ca)
	ask("authority of the same name with another key", list(leaf), list(namesake), "a.example")
	ask("two authorities of the same name", list(leaf), list(namesake, authority), "a.example")
	ask("nobody is trusted but the other", list(leaf), list(other), "a.example")
	below := own.issue("below", ecKey(), dns("a.example"))
	ask("signed by a leaf that is an anchor", list(below), list(own), "a.example")
	nameless := root("", ecKey(), both(ca, func(it *x509.Certificate) { it.Subject.Organization = []string{"org"} }))
	twin := root("", ecKey(), both(ca, func(it *x509.Certificate) { it.Subject.Organization = []string{"org"} }))
	ask("an organization in the hint", list(nameless.issue("leaf", ecKey(), dns("a.example"))), list(twin), "a.example")
	blank := root("", ecKey(), ca)
	blankTwin := root("", ecKey(), ca)
	ask("a serial number in the hint", list(blank.issue("leaf", ecKey(), dns("a.example"))), list(blankTwin), "a.example")
}

func names() {
	authority := root("ca", ecKey(), ca)
	of := func(change func(*x509.Certificate)) []*pair {
		return list(authority.issue("cn.example", ecKey(), change))
	}
	hosts := []string{"a.example", "A.Example", "a.example.", "b.a.example", "example", "10.0.0.1", "::1", "[::1]", "cn.example"}
	ask("a name", of(dns("a.example")), list(authority), hosts...)
	ask("a name in capitals", of(dns("A.EXAMPLE")), list(authority), hosts...)
	ask("a wildcard", of(dns("*.example")), list(authority), hosts...)
	ask("a wildcard below", of(dns("*.a.example")), list(authority), hosts...)
	ask("a bare wildcard", of(dns("*")), list(authority), hosts...)
	ask("a wildcard in a label", of(dns("a*.example", "*a.example")), list(authority), hosts...)
	ask("a wildcard in the middle", of(dns("b.*.example")), list(authority), hosts...)
	ask("underscores and hyphens", of(dns("a_b.example", "-a.example", "a-.example")), list(authority), "a_b.example", "a-.example")
	ask("a name that ends with a dot", of(dns("a.example.")), list(authority), hosts...)
	ask("addresses", of(ips("10.0.0.1", "::1")), list(authority), hosts...)
	ask("other addresses", of(ips("10.0.0.2", "fe80::1")), list(authority), "10.0.0.1", "::1", "::ffff:10.0.0.2")
	ask("an address as a name", of(dns("10.0.0.1")), list(authority), "10.0.0.1")
	ask("no names", of(nil), list(authority), hosts...)
	ask("an email alone", of(func(it *x509.Certificate) { it.EmailAddresses = []string{"a@b.example"} }), list(authority), "cn.example", "10.0.0.1")
	many := make([]string, 100)
	for i := range many {
		many[i] = "n.example"
	}
	ask("a hundred names", of(dns(many...)), list(authority), "a.example")
}

func usages() {
	all := map[string][]x509.ExtKeyUsage{
		"none": nil, "server": {x509.ExtKeyUsageServerAuth}, "client": {x509.ExtKeyUsageClientAuth},
		"any": {x509.ExtKeyUsageAny}, "code": {x509.ExtKeyUsageCodeSigning},
		"both": {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	order := []string{"none", "server", "client", "any", "code", "both"}
	for _, above := range order {
		authority := root("ca", ecKey(), both(ca, usage(all[above]...)))
		plain := root("ca", ecKey(), ca)
		middle := plain.issue("middle", ecKey(), both(ca, usage(all[above]...)))
		for _, below := range order {
			change := both(dns("a.example"), usage(all[below]...))
			ask("extended usages: anchor "+above+", leaf "+below, list(authority.issue("leaf", ecKey(), change)), list(authority))
			ask("extended usages: intermediate "+above+", leaf "+below, list(middle.issue("leaf", ecKey(), change), middle), list(plain))
		}
		own := root("own", ecKey(), both(dns("a.example"), usage(all[above]...)))
		ask("extended usages: own anchor "+above, list(own), list(own))
	}
	unknown := func(it *x509.Certificate) { it.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}} }
	plain := root("ca", ecKey(), ca)
	ask("extended usages: an unknown one", list(plain.issue("leaf", ecKey(), unknown)), list(plain))
	for _, it := range []struct {
		name  string
		usage x509.KeyUsage
	}{
		{"cert sign", x509.KeyUsageCertSign}, {"digital signature", x509.KeyUsageDigitalSignature},
		{"decipher only", x509.KeyUsageDecipherOnly}, {"encipherment", x509.KeyUsageKeyEncipherment},
		{"several", x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDecipherOnly},
	} {
		authority := root("ca", ecKey(), both(ca, keyUsage(it.usage)))
		ask("key usage of the anchor: "+it.name, list(authority.issue("leaf", ecKey(), nil)), list(authority))
		middle := plain.issue("middle", ecKey(), both(ca, keyUsage(it.usage)))
		ask("key usage of the intermediate: "+it.name, list(middle.issue("leaf", ecKey(), nil), middle), list(plain))
		ask("key usage of the leaf: "+it.name, list(plain.issue("leaf", ecKey(), keyUsage(it.usage))), list(plain))
	}
}

func times() {
	for _, it := range []struct {
		name   string
		change func(*x509.Certificate)
	}{
		{"expired", expired}, {"not yet valid", future},
		{"ends now", func(it *x509.Certificate) { it.NotAfter = now }},
		{"begins now", func(it *x509.Certificate) { it.NotBefore = now }},
		{"far away", func(it *x509.Certificate) { it.NotAfter = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }},
	} {
		good := root("ca", ecKey(), ca)
		ask("leaf: "+it.name, list(good.issue("leaf", ecKey(), it.change)), list(good))
		bad := root("ca", ecKey(), both(ca, it.change))
		ask("anchor: "+it.name, list(bad.issue("leaf", ecKey(), nil)), list(bad))
		middle := good.issue("middle", ecKey(), both(ca, it.change))
		ask("intermediate: "+it.name, list(middle.issue("leaf", ecKey(), nil), middle), list(good))
		own := root("own", ecKey(), it.change)
		ask("own anchor: "+it.name, list(own), list(own))
		key := ecKey()
		gone, renewed := root("ca", key, both(ca, it.change)), root("ca", key, ca)
		leaf := gone.issue("leaf", ecKey(), nil)
		ask("renewed anchor: "+it.name, list(leaf), list(gone, renewed))
		ask("renewed anchor first: "+it.name, list(leaf), list(renewed, gone))
	}
}

func paths() {
	plain := root("ca", ecKey(), ca)
	for most := 0; most <= 2; most++ {
		top := root("ca", ecKey(), both(ca, pathLength(most)))
		chain := list(top)
		for depth := 0; depth <= 3; depth++ {
			last := chain[0]
			leaf := last.issue("leaf", ecKey(), nil)
			sent := append(list(leaf), chain[:len(chain)-1]...)
			name := "path length " + string(rune('0'+most)) + " with intermediates " + string(rune('0'+depth))
			ask(name, sent, list(top))
			chain = append(list(last.issue("middle"+string(rune('0'+depth)), ecKey(), ca)), chain...)
		}
	}
	middle := plain.issue("middle", ecKey(), both(ca, pathLength(0)))
	lower := middle.issue("lower", ecKey(), ca)
	ask("path length of an intermediate", list(lower.issue("leaf", ecKey(), nil), lower, middle), list(plain))
	ask("leaf with a path length", list(plain.issue("leaf", ecKey(), both(ca, pathLength(0)))), list(plain))
	notCA := plain.issue("middle", ecKey(), nil)
	ask("intermediate that is no authority", list(notCA.issue("leaf", ecKey(), nil), notCA), list(plain))
	no := plain.issue("middle", ecKey(), func(it *x509.Certificate) { it.BasicConstraintsValid = true })
	ask("intermediate that says it is no authority", list(no.issue("leaf", ecKey(), nil), no), list(plain))
	ask("missing intermediate", list(lower.issue("leaf", ecKey(), nil), middle), list(plain))
	good := plain.issue("middle", ecKey(), ca)
	deep := good.issue("lower", ecKey(), ca)
	ask("intermediates in any order", list(deep.issue("leaf", ecKey(), nil), good, deep), list(plain))
	ask("an intermediate as anchor", list(deep.issue("leaf", ecKey(), nil), deep), list(good))
	ask("the anchor is sent, too", list(deep.issue("leaf", ecKey(), nil), deep, good, plain), list(plain))
	// Two authorities that signed each other.
	keyA, keyB := ecKey(), ecKey()
	a, b := root("A", keyA, ca), root("B", keyB, ca)
	aByB, bByA := b.issue("A", keyA, ca), a.issue("B", keyB, ca)
	leaf := a.issue("leaf", ecKey(), nil)
	ask("cross signed", list(leaf, aByB, bByA), list(b))
	ask("cross signed, nobody trusted", list(leaf, aByB, bByA), list(plain))
	// Many intermediates with one name.
	issuer := plain.issue("crowd", ecKey(), ca)
	crowd := list(issuer.issue("leaf", ecKey(), nil))
	for i := 0; i < 101; i++ {
		crowd = append(crowd, plain.issue("crowd", ecKey(), ca))
	}
	ask("too many candidates", crowd, list(plain))
}

func constraints() {
	for _, it := range []struct {
		name   string
		change func(*x509.Certificate)
	}{
		{"permits example", func(it *x509.Certificate) { it.PermittedDNSDomains = []string{"example"} }},
		{"permits .example", func(it *x509.Certificate) { it.PermittedDNSDomains = []string{".example"} }},
		{"permits all", func(it *x509.Certificate) { it.PermittedDNSDomains = []string{""} }},
		{"excludes a.example", func(it *x509.Certificate) { it.ExcludedDNSDomains = []string{"a.example"} }},
		{"excludes b.a.example", func(it *x509.Certificate) { it.ExcludedDNSDomains = []string{"b.a.example"} }},
		{"permits 10/8", func(it *x509.Certificate) { it.PermittedIPRanges = []*net.IPNet{network("10.0.0.0/8")} }},
		{"excludes 10/8", func(it *x509.Certificate) { it.ExcludedIPRanges = []*net.IPNet{network("10.0.0.0/8")} }},
		{"permits fd00::/8", func(it *x509.Certificate) { it.PermittedIPRanges = []*net.IPNet{network("fd00::/8")} }},
		{"permits mail of b.example", func(it *x509.Certificate) { it.PermittedEmailAddresses = []string{"b.example"} }},
		{"excludes a@b.example", func(it *x509.Certificate) { it.ExcludedEmailAddresses = []string{"a@b.example"} }},
		{"permits URIs of example", func(it *x509.Certificate) { it.PermittedURIDomains = []string{"example"} }},
		{"excludes URIs of c.example", func(it *x509.Certificate) { it.ExcludedURIDomains = []string{"c.example"} }},
		{"permits and excludes", func(it *x509.Certificate) {
			it.PermittedDNSDomains, it.ExcludedDNSDomains = []string{"example", "test"}, []string{"a.example"}
		}},
	} {
		critical := func(c *x509.Certificate) { it.change(c); c.PermittedDNSDomainsCritical = true }
		authority := root("ca", ecKey(), both(ca, critical))
		plain := root("plain", ecKey(), ca)
		middle := plain.issue("middle", ecKey(), both(ca, it.change))
		for _, leaf := range []struct {
			name   string
			change func(*x509.Certificate)
		}{
			{"a.example", dns("a.example")}, {"A.Example", dns("A.Example")}, {"example", dns("example")},
			{"*.a.example", dns("*.a.example")}, {"xexample", dns("xexample")}, {"test", dns("x.test")},
			{"two names", dns("b.example", "b.other")}, {"10.0.0.1", ips("10.0.0.1")}, {"fd00::1", ips("fd00::1")},
			{"11.0.0.1", ips("11.0.0.1")}, {"nothing", nil},
			{"email", func(it *x509.Certificate) { it.EmailAddresses = []string{"a@b.example"} }},
			{"other email", func(it *x509.Certificate) { it.EmailAddresses = []string{"c@D.other"} }},
			{"URI", uris("spiffe://c.example/x")}, {"other URI", uris("spiffe://other/x")},
		} {
			name := "constraints: anchor " + it.name + ", leaf " + leaf.name
			ask(name, list(authority.issue("leaf", ecKey(), leaf.change)), list(authority))
			if leaf.name == "a.example" || leaf.name == "nothing" {
				name := "constraints: intermediate " + it.name + ", leaf " + leaf.name
				ask(name, list(middle.issue("leaf", ecKey(), leaf.change), middle), list(plain))
			}
		}
		own := root("own", ecKey(), both(ca, it.change, dns("a.example")))
		ask("constraints: own anchor "+it.name, list(own), list(own))
	}
	authority := root("ca", ecKey(), both(ca, func(it *x509.Certificate) { it.PermittedDNSDomains = []string{"example"} }))
	ask("constraints: URI without host", list(authority.issue("leaf", ecKey(), uris("urn:x:y"))), list(authority))
	ask("constraints: URI with address", list(authority.issue("leaf", ecKey(), uris("https://10.0.0.1/"))), list(authority))
}

func signatures() {
	keys := map[string]crypto.Signer{
		"RSA": rsaKey(), "P-256": ecKey(),
		"P-384":   must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)),
		"P-521":   must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)),
		"P-224":   must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)),
		"Ed25519": func() crypto.Signer { _, key, _ := ed25519.GenerateKey(rand.Reader); return key }(),
	}
	with := func(algorithm x509.SignatureAlgorithm) func(*x509.Certificate) {
		return func(it *x509.Certificate) { it.SignatureAlgorithm = algorithm }
	}
	for _, it := range []struct {
		key        string
		algorithms []x509.SignatureAlgorithm
	}{
		{"RSA", []x509.SignatureAlgorithm{x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA, x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS, x509.SHA1WithRSA}},
		{"P-256", []x509.SignatureAlgorithm{x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512, x509.ECDSAWithSHA1}},
		{"P-384", []x509.SignatureAlgorithm{x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512}},
		{"P-521", []x509.SignatureAlgorithm{x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512}},
		{"P-224", []x509.SignatureAlgorithm{x509.ECDSAWithSHA256}},
		{"Ed25519", []x509.SignatureAlgorithm{x509.PureEd25519}},
	} {
		authority := root("ca", keys[it.key], ca)
		for _, algorithm := range it.algorithms {
			leaf := authority.issue("leaf", ecKey(), with(algorithm))
			ask("signed by "+it.key+" with "+algorithm.String(), list(leaf), list(authority))
			forged := *leaf
			forged.der = append([]byte(nil), leaf.der...)
			forged.der[len(forged.der)-1] ^= 1
			forged.cert = must(x509.ParseCertificate(forged.der))
			ask("forged: "+it.key+" with "+algorithm.String(), list(&forged), list(authority))
		}
		for _, other := range []string{"RSA", "P-256", "P-384", "Ed25519"} {
			if other != it.key {
				stranger := root("ca", keys[other], ca)
				ask("signed by "+it.key+", anchor "+other, list(authority.issue("leaf", ecKey(), nil)), list(stranger))
			}
		}
	}
	sha1Root := root("ca", keys["RSA"], both(ca, with(x509.SHA1WithRSA)))
	ask("an anchor signed with SHA-1", list(sha1Root.issue("leaf", ecKey(), nil)), list(sha1Root))
	own := root("own", keys["RSA"], both(dns("a.example"), with(x509.SHA1WithRSA)))
	ask("an own anchor signed with SHA-1", list(own), list(own), "a.example", "")
	weak := root("ca", must(rsa.GenerateKey(rand.Reader, 1024)), ca)
	ask("an anchor with RSA of 1024 bits", list(weak.issue("leaf", ecKey(), nil)), list(weak))
}

func versions() {
	v3 := root("ca", ecKey(), ca)
	ask("version 1 leaf", list(old("leaf", v3, ecKey())), list(v3), "leaf", "")
	v1 := old("v1", nil, ecKey())
	ask("version 1 anchor", list(v1.issue("leaf", ecKey(), nil)), list(v1))
	ask("version 1 anchor and leaf", list(old("leaf", v1, ecKey())), list(v1))
	ask("version 1 own anchor", list(v1), list(v1), "v1", "")
	middle := old("middle", v3, ecKey())
	ask("version 1 intermediate", list(middle.issue("leaf", ecKey(), nil), middle), list(v3))
	noBasic := root("ca", ecKey(), nil)
	ask("anchor without basic constraints", list(noBasic.issue("leaf", ecKey(), nil)), list(noBasic))
}

func oddities() {
	authority := root("ca", ecKey(), ca)
	private := asn1.ObjectIdentifier{1, 2, 3, 4}
	for _, critical := range []bool{false, true} {
		suffix := map[bool]string{true: " critical", false: ""}[critical]
		change := extension(private, critical, 5)
		ask("unknown extension of the leaf"+suffix, list(authority.issue("leaf", ecKey(), change)), list(authority))
		bad := root("ca", ecKey(), both(ca, change))
		ask("unknown extension of the anchor"+suffix, list(bad.issue("leaf", ecKey(), nil)), list(bad))
		middle := authority.issue("middle", ecKey(), both(ca, change))
		ask("unknown extension of the intermediate"+suffix, list(middle.issue("leaf", ecKey(), nil), middle), list(authority))
	}
	policy := func(it *x509.Certificate) { it.Policies = []x509.OID{must(x509.OIDFromInts([]uint64{1, 2, 3}))} }
	ask("a policy", list(authority.issue("leaf", ecKey(), policy)), list(authority))
	required := extension(asn1.ObjectIdentifier{2, 5, 29, 36}, true, struct {
		Explicit int `asn1:"tag:0"`
	}{0})
	middle := authority.issue("middle", ecKey(), both(ca, required))
	ask("policies are required, none is there", list(middle.issue("leaf", ecKey(), nil), middle), list(authority))
	withPolicy := authority.issue("middle", ecKey(), both(ca, required, policy))
	ask("policies are required and there", list(withPolicy.issue("leaf", ecKey(), policy), withPolicy), list(authority))
	odd := func(it *x509.Certificate) {
		it.Subject = pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
			{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "first"},
			{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "last"},
			{Type: asn1.ObjectIdentifier{2, 5, 4, 10}, Value: "organization"},
		}}
	}
	ask("several common names", list(authority.issue("", ecKey(), odd)), list(authority), "last")
	ask("no subject", list(authority.issue("", ecKey(), dns("a.example"))), list(authority), "a.example")
}
