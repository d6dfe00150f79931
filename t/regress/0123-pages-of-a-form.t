#!/usr/bin/perl
# A field on a later page of a form was not there, nor was a search that a
# button opens.
use strict;
use warnings;
use BrowserTask::Apps;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $wizard = <<'HTML';
<title>Apply</title><h1>Apply</h1><form action="/apply" method="post">
<fieldset class="page"><p><label>Name <input name="name" required></label></p><p><label>Kind <select name="kind"><option>Person<option>Company</select></label></p><p id="tax" hidden><label>Tax number <input name="tax"></label></p><button type="button" class="on">Next step</button></fieldset>
<fieldset class="page" hidden><p><label>Street <input name="street"></label></p><button type="button">Back</button> <button type="button" class="on">Next step</button></fieldset>
<fieldset class="page" hidden><p>Is all of it right?</p><button>Send it</button></fieldset></form>
<p role="alert" id="wrong"></p>
<script>
const pages = [...document.querySelectorAll('.page')];
const f = document.forms[0];
pages.forEach((p, i) => { const b = p.querySelector('.on'); if (b) b.onclick = () => {
  wrong.textContent = i === 0 && f.name.value === '' ? 'A name is required' : '';
  if (wrong.textContent === '')
    setTimeout(() => { p.hidden = true; pages[i + 1].hidden = false; }, 200);
}; });
f.kind.onchange = () => setTimeout(() => { tax.hidden = false; }, 300);
</script>
HTML
my $search = <<'HTML';
<title>Shop</title><header><button type="button" aria-label="Search" onclick="setTimeout(() => { q.hidden = false }, 100)"><i class="icon-search"></i></button>
<form action="/found"><input type="search" name="q" id="q" hidden aria-label="Search the shop"></form></header><h1>Shop</h1>
HTML
my $live = <<'HTML';
<title>Boats</title><h1>Boats</h1><p><input placeholder="Filter" id="q" onkeyup="show()"></p><ul id="l"></ul>
<script>function show() { l.innerHTML = ['Aurora', 'Berta', 'Carola'].filter((x) => x.toLowerCase().includes(q.value.toLowerCase())).map((x) => '<li>' + x + ' lies here</li>').join(''); } show();</script>
HTML
my $apps = BrowserTask::Apps->new($ENV{srcdir} // '.', sub { return (
	'GET /apply' => [ 200, $wizard ],
	'POST /apply' => [ 200, '<title>Sent</title><h1>Sent</h1>' ],
	'GET /shop' => [ 200, $search ],
	'GET /found' => [ 200, '<title>Found</title><h1>Found</h1>' ],
	'GET /live' => [ 200, $live ],
) });
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub apply {
	return task($c, 'submit_and_verify', { startUrl => $apps->url('/apply'),
		submit => { mode => 'semantic', query => 'Send it' },
		fields => [ map { { name => $_->[0], value => $_->[1] } } @_ ] });
}

my $r = apply([ 'Name', 'Ada' ], [ 'Kind', 'Company' ],
	[ 'Tax number', '7' ], [ 'Street', 'Quay 1' ]);
is($r->{status}, 'succeeded', 'fields of later pages are reached')
    or diag explain $r->{error};
is_deeply([ $apps->posts ],
	[ 'POST /apply name=Ada&kind=Company&tax=7&street=Quay+1' ],
	'all of it is sent, once');
is_deeply($r->{result}{nextPressed}, [ ('Next step') x 2 ],
	'what was pressed is told');
is_deeply($r->{progress}, { doneSteps => 7, totalSteps => 7 },
	'and is no unit of its own');
result_fits($c, $r);

$r = apply([ 'Street', 'Quay 1' ]);
error_is($r->{error}, 'STEP_EXECUTION_FAILED', 'FORM_INVALID',
	'a page that does not go on');
like($r->{error}{message}, qr/A name is required/, 'says why');
is(scalar $apps->posts, 1, 'and nothing is sent');

$r = task($c, 'search_extract', { startUrl => $apps->url('/shop'),
	query => 'rope' });
is($r->{result}{finalPage}{url}, $apps->url('/found?q=rope'),
	'a search behind a button is opened') or diag explain $r->{error};

$r = task($c, 'search_extract', { startUrl => $apps->url('/live'),
	query => 'car', searchField => { mode => 'semantic',
		query => 'filter' } });
like($r->{result}{content}{sections}[0]{text}, qr/Carola lies here/,
	'a search that needs no sending') or diag explain $r;
unlike($r->{result}{content}{sections}[0]{text}, qr/Aurora/,
	'shows what it found');

is($i->stop, 0, 'stops');
is($apps->stop, 0, 'the applications, too');
done_testing();
