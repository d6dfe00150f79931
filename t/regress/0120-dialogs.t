#!/usr/bin/perl
# confirm() was answered with no whatever a run was for, and nothing said so:
# what a page deletes or sends only after a question could not be done. What is
# only a button or a link, without a field, could not be pressed.
use strict;
use warnings;
use BrowserTask::Apps;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $ask = <<'HTML';
<title>Harbour 7</title><main><h1>Harbour 7</h1>
<form action="/gone" method="post"><button>Delete it</button></form>
<p><a href="/kept" onclick="return confirm('Leave?')">Keep it</a></p></main>
<script>
alert('Closed on Sundays');
document.forms[0].onsubmit = (e) => {
  const why = confirm('Delete harbour 7?') && prompt('Why?', 'no reason');
  if (why === null || why === false)
    e.preventDefault();
  else
    document.forms[0].insertAdjacentHTML('beforeend', `<input name=why value="${why}">`);
};
</script>
HTML
my $apps = BrowserTask::Apps->new($ENV{srcdir} // '.', sub { return (
	'GET /ask' => [ 200, $ask ],
	'POST /gone' => [ 200, '<title>Gone</title><h1>It is gone</h1>' ],
	'GET /kept' => [ 200, '<title>Kept</title><h1>It is kept</h1>' ],
) });
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub press {
	my ($what, %more) = @_;
	my $r = task($c, 'submit_and_verify', { startUrl => $apps->url('/ask'),
		submit => { mode => 'semantic', query => $what }, %more });
	result_fits($c, $r);
	return $r;
}

sub said {
	my ($r) = @_;
	return [ map { "$_->{type} $_->{message}: $_->{answer}" }
		@{ $r->{result}{dialogs} // [] } ];
}

my @alert = 'alert Closed on Sundays: dismissed';
my $r = press('Delete it');
is_deeply(said($r), [ @alert, 'confirm Delete harbour 7?: dismissed' ],
	'dialogs are told, and how they were answered') or diag explain $r;
like("@{ $r->{warnings} }", qr/asked "Delete harbour 7\?" and was told no/,
	'a question that was told no is warned of');
is_deeply([ $apps->posts ], [], 'a form that asks first is not sent');

$r = press('Delete it', dialogs => 'accept');
is_deeply(said($r), [ 'alert Closed on Sundays: accepted',
	'confirm Delete harbour 7?: accepted', 'prompt Why?: accepted' ],
	'a run that accepts says yes to every question') or diag explain $r;
is_deeply([ $apps->posts ], [ 'POST /gone why=no+reason' ],
	'the form is sent, with what the prompt proposed');
is($r->{status}, 'succeeded', 'a button without a field is pressed');
is_deeply($r->{progress}, { doneSteps => 3, totalSteps => 3 },
	'three units without a field');

$r = press('Keep it', dialogs => 'accept');
is($r->{result}{finalPage}{title}, 'Kept', 'a link alone, too');

for my $bad ({}, { fields => [], submit => { mode => 'semantic',
	query => 'x' } }, { submit => { mode => 'semantic', query => 'x' },
	dialogs => 'ask' }) {
	my $no = task($c, 'submit_and_verify',
		{ startUrl => $apps->url('/ask'), %$bad });
	is($no->{errorCode}, 'INVALID_PARAMETER', join(' ', 'refused:',
		sort keys %$bad));
}

my $s = batch($c, [ $apps->url('/ask') ], { mode => 'async' });
$r = ended($c, $s->{runId});
is_deeply(said($r), \@alert, 'a batch tells them, too') or diag explain $r;

is($i->stop, 0, 'stops');
is($apps->stop, 0, 'the applications, too');
done_testing();
