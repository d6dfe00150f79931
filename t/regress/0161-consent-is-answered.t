#!/usr/bin/perl
# Banners about cookies covered pages, and nothing could answer them. With the
# input consent they are refused or accepted by a click, in whatever words, and
# what asks for anything else is left alone. The real browser.
use strict;
use warnings;
use utf8;
use BrowserTask::Client;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use BrowserTask::Trap;
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

sub button {
	my ($says, $does) = @_;
	return "<button onclick=\"$does\">$says</button>";
}

sub does { return "document.title = '$_[0]'; this.parentElement.remove()" }

my $over = 'style="position:fixed;inset:0;background:white"';
my $page = '<meta charset=utf-8><title>asked</title><p>The page.</p><form>'
    . '<label>Name<input name=name></label><button type=button '
    . 'onclick="document.title=\'sent\'">Send</button></form>';
my %banners = (
	en => "<div $over><p>We use cookies.</p>" . button('Accept all',
		does('accepted')) . button('Reject all', does('refused'))
	    . button('Manage preferences', '') . '</div>',
	fr => '<div role=dialog style="position:absolute;top:0"><p>Des cookies.</p>'
	    . '<a href="/more">Refuser et en savoir plus</a>'
	    . '<a href="#" onclick="' . does('refused') . '">Continuer sans '
	    . 'accepter →</a>' . button("J’accepte", does('accepted')) . '</div>',
	ja => "<div class=cookie-bar>クッキーを使用します。"
	    . button('すべて許可する', does('accepted'))
	    . button('必要なもののみ', does('refused')) . '</div>',
	# Behind the settings: another button, or boxes that are not ticked.
	de => "<div $over id=b><p>Wir verwenden Cookies.</p>"
	    . button('Alle akzeptieren', does('accepted'))
	    . button('Einstellungen', "more.style.display = 'block'")
	    . "<div id=more style='display:none'>" . button('Alle ablehnen',
		"document.title = 'refused'; b.remove()") . '</div></div>',
	es => "<div $over id=b><p>Usamos cookies.</p>"
	    . button('Aceptar', does('accepted'))
	    . button('Configurar', "more.style.display = 'block'")
	    . "<div id=more style='display:none'><input type=checkbox checked "
	    . 'disabled>' . '<input type=checkbox>' . button('Guardar',
		"document.title = 'refused'; b.remove()") . '</div></div>',
	late => '<script src="/cookieconsent.js"></script>',
	shadow => '<div id=host></div><script>const r = host.attachShadow({mode:'
	    . "'open'}); r.innerHTML = '<div $over><p>Cookies?</p><button id=n>No, "
	    . "thanks</button><button id=y>OK</button></div>'; for (const [id, said] of "
	    . "[['n', 'refused'], ['y', 'accepted']]) r.getElementById(id).onclick"
	    . " = () => { document.title = said; host.remove() }"
	    . '</script>',
	notice => "<div $over>This site uses cookies. " . button('Got it!',
		does('accepted')) . '</div>',
	# No banners about cookies.
	terms => '<div role=dialog>Do you accept the terms of sale?'
	    . button('I agree', does('accepted'))
	    . button('I decline', does('refused')) . '</div>',
	join => "<div $over>Join us. We use cookies.<input type=email>"
	    . button('Accept', does('accepted')) . button('No thanks',
		does('refused')) . '</div>',
	about => '<article>All about cookies. ' . button('Reject',
		does('refused')) . button('Accept', does('accepted'))
	    . '</article>',
);
my $late = 'setTimeout(() => { const d = document.createElement("div");'
    . 'd.style = "position:fixed;bottom:0"; d.innerHTML = `'
    . 'Cookies? ' . button('Deny', does('refused')) . button('Allow',
	does('accepted')) . '`; document.body.append(d) }, 700)';
my $site = BrowserTask::Trap->new(sub {
	my ($path) = @_;

	utf8::encode(my $js = $late);
	return [ 'text/javascript', $js ] if $path eq '/cookieconsent.js';
	my $banner = $banners{substr $path, 1} // return;
	utf8::encode(my $html = $page . $banner);
	return [ 'text/html; charset=utf-8', $html ];
});
my $base = 'http://127.0.0.1:' . $site->port;
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

# name => [ what the pages came to, the button ] when refused and accepted
my %want = (
	en => [ 'Reject all', 'Accept all' ],
	fr => [ 'Continuer sans accepter →', "J’accepte" ],
	ja => [ '必要なもののみ', 'すべて許可する' ],
	de => [ 'Alle ablehnen', 'Alle akzeptieren' ],
	es => [ 'Guardar', 'Aceptar' ],
	late => [ 'Deny', 'Allow' ],
	shadow => [ 'No, thanks', 'OK' ],
	notice => [ undef, 'Got it!' ],
	map { $_ => [] } qw(terms join about),
);
my @names = sort keys %want;

for my $how (qw(refuse accept)) {
	my $answer = $how eq 'refuse' ? 'refused' : 'accepted';
	my $r = task($c, 'batch_extract_pages', { consent => $how,
		urls => [ map { "$base/$_" } @names ] });
	my %item = items($r);

	is($r->{status}, 'succeeded', $how) or diag explain $r;
	for my $name (@names) {
		my $button = $want{$name}[$how eq 'refuse' ? 0 : 1];
		my $item = $item{"$base/$name"};

		is($item->{title}, $button ? $answer : 'asked',
			"$how: $name");
		is_deeply($item->{consent}, $button ? { answer => $answer,
			button => $button } : undef, "$how: what was done");
	}
	is((grep { m{no button to refuse: $base/notice} } @{ $r->{warnings} }),
		$how eq 'refuse' ? 1 : 0, "$how: what cannot be answered is said");
}

my %form = (startUrl => "$base/en", fields => [ { name => 'Name',
	value => 'x' } ], submit => { mode => 'semantic', query => 'Send' });
my $r = task($c, 'submit_and_verify', { %form, consent => 'refuse' });
is($r->{result}{finalPage}{title}, 'sent', 'what it covered can be used')
    or diag explain $r;
is_deeply($r->{result}{consent}, { answer => 'refused',
	button => 'Reject all' }, 'and what was done is in the result');

$r = task($c, 'search_extract', { startUrl => "$base/en", query => 'x',
	searchField => { mode => 'selector', selector => 'input' },
	submit => { mode => 'semantic', query => 'Send' } });
is($r->{status}, 'failed', 'left alone, it is in the way');
like($r->{error}{message}, qr/covered by .*a consent banner: give the input consent/,
    'which the error says, with what to do');
is($i->stop, 0, 'it stops');
done_testing();
