#!/usr/bin/perl
# Lists of a page's own making could not be chosen from: comboboxes, fields that
# offer what fits, widgets over a select. Groups were not found by their legend,
# and scripts that look at keys saw nothing of what was typed. What a field had
# opened covered the button.
use strict;
use warnings;
use BrowserTask::Apps;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use Test::More;

my $jump = <<'HTML';
<title>Jump</title><form action="/choices" method="post"><label>Code <input name="code"></label></form>
<script>document.forms[0].code.oninput = () => { location = '/jumped'; };</script>
HTML
my $apps = BrowserTask::Apps->new($ENV{srcdir} // '.', sub { return (
	'POST /choices' => [ 200, '<title>Booked</title><h1>Booked</h1>' ],
	'GET /jump' => [ 200, $jump ],
	'GET /jumped' => [ 200, '<title>Jumped</title><form action="/choices" '
		. 'method="post"><button>Go on</button></form>' ],
) });
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub book {
	my ($path, @fields) = @_;
	my @before = $apps->posts;
	my $r = task($c, 'submit_and_verify', { startUrl => $apps->url($path),
		submit => { mode => 'semantic', query => $path eq '/jump'
			? 'Go on' : 'Book it' },
		fields => [ map { { name => $_->[0], value => $_->[1] } }
			@fields ] });
	my @sent = $apps->posts;
	my ($body) = @sent > @before ? $sent[-1] =~ / (\S*)$/ : ();
	my %got;
	for my $pair (split /&/, $body // '') {
		my ($name, $value) = map { s/%([0-9A-F]{2})/chr hex $1/ger =~
			tr/+/ /r } split /=/, $pair, 2;
		push @{ $got{$name} }, $value;
	}
	return ($r, { map { $_ => join ',', @{ $got{$_} } } keys %got });
}

my $true = JSON::PP::true;
# fields, what the server gets
my @good = (
	[ [ [ 'Size', 'Large' ] ], { size => 'Large' },
		'a combobox is opened and chosen from' ],
	[ [ [ 'Port', 'Bergen' ] ], { harbour => '#Bergen' },
		'a field that offers what fits is typed into and chosen from' ],
	[ [ [ 'Port', 'bern' ] ], { harbour => '#Bern on the lake' },
		'an option is chosen by its beginning' ],
	[ [ [ 'Flag', 'Finland' ] ], { flag => 'Finland' },
		'a field that can only be read opens its list' ],
	[ [ [ 'Needs', [ 'Water', 'Fuel' ] ] ], { needs => 'w,f' },
		'a widget over a select is used, for several' ],
	[ [ [ 'Stay', 'A week' ] ], { stay => '7' },
		'radio buttons are found by their legend' ],
	[ [ [ 'Side', 'Starboard' ] ], { s1 => 's' },
		'and by the words before the first' ],
	[ [ [ 'Paid by', 'Cash' ] ], { paid => 'Cash' },
		'and those of a script by the label of their group' ],
	[ [ [ 'Crew papers', [ 'Passports', 'Licence' ] ] ],
		{ papers => 'a,c' }, 'of boxes those named are on, others off' ],
	[ [ [ 'Crew papers', 'Licence' ] ], { papers => 'b,c' },
		'one of them alone is added' ],
	[ [ [ 'Name of the ship', 'Aurora' ] ],
		{ name => 'Aurora', seen => 'Aurora' },
		'scripts that look at keys see what was typed' ],
	[ [ [ 'Arrival', '2026-12-01' ] ], { day => '2026-12-01' },
		'a calendar over the button is left' ],
	[ [ [ 'Size', 'Small' ], [ 'Port', 'Oslo' ], [ 'Stay', 'One night' ],
		[ 'Visas', JSON::PP::false ], [ 'Needs', 'Power' ] ],
		{ size => 'Small', harbour => '#Oslo', stay => '1', needs => 'p' },
		'one after the other' ],
);
for my $row (@good) {
	my ($fields, $want, $name) = @$row;
	my ($r, $got) = book('/choices', @$fields);
	is_deeply({ map { $_ => $got->{$_} } keys %$want }, $want, $name)
	    or diag explain $r->{error}, $r->{warnings}, $got;
}

# fields, what the refusal says
my @bad = (
	[ [ 'Size', 'Huge' ], qr/field Size: .* no .Huge.; it has .Small./,
		'a list without it' ],
	[ [ 'Port', 'Paris' ], qr/field Port: .* no .Paris.; it has .Other/,
		'a field that offers another' ],
	[ [ 'Stay', 'A year' ], qr/no choice is called .A year.*One night/,
		'a group without it' ],
	[ [ 'Stay', $true ], qr/is a group: name one of its choices/,
		'a group that is to be on' ],
);
for my $row (@bad) {
	my ($field, $says, $name) = @$row;
	my ($r, $got) = book('/choices', $field);
	like($r->{error}{message}, $says, "$name: says what there is")
	    or diag explain $r;
	is_deeply($got, {}, "$name: nothing is sent");
}

my ($r) = book('/jump', [ 'Code', '123456' ]);
is($r->{status}, 'succeeded', 'a page that goes on when a field is filled')
    or diag explain $r;

is($i->stop, 0, 'stops');
is($apps->stop, 0, 'the applications, too');
done_testing();
