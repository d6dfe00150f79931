#!/usr/bin/perl
# The crash points: each is in the sources once, where the tests' builds have it,
# and the programs that are installed have none.
use strict;
use warnings;
use Test::More;

my $src = $ENV{srcdir} || '.';
my $build = $ENV{builddir} || '.';

sub slurp {
	my ($path) = @_;
	open(my $fh, '<', $path) or die "$path: $!";
	local $/;
	return <$fh>;
}

my $def = slurp("$src/common/crashpoint.def");
my %programs = (
	POINT => [ 'supervisord', 'SUPERVISORD_POINTS',
		'supervisord/supervisord', 'supervisord/supervisord-test' ],
	LAUNCHER_POINT => [ 'launcher', 'LAUNCHER_POINTS',
		'launcher/browsertaskd', 't/scenario/undamped' ],
);

for my $kind (sort keys %programs) {
	my ($dir, $name, $program, $test) = @{ $programs{$kind} };
	my @names = $def =~ /^$kind\((\w+),/mg;
	my ($list) = slurp("$src/$dir/local.mk") =~
	    /^$name = \\\n((?:.*\\\n)*.*)/m;
	my %listed = map { $_ => 1 } $list =~ m{(\w+/\w+\.c)}g;
	my (%where, %has);

	for my $path (glob "$src/*/*.c") {
		my ($file) = $path =~ m{([^/]+/[^/]+)$};
		next if ($file =~ m{^launcher/}) != ($dir eq 'launcher');
		for my $point (slurp($path) =~ /\bCRASH_POINT\((\w+)\)/g) {
			push @{ $where{$point} }, $file;
			$has{$file} = 1;
		}
	}
	cmp_ok(scalar @names, '>', 0, scalar(@names) . " in $dir");
	is_deeply([ sort keys %where ], [ sort @names ],
		'the table names those of the sources');
	is_deeply([ grep { @{ $where{$_} } != 1 } sort keys %where ], [],
		'each is in one place');
	is_deeply([ grep { !$listed{$_} } sort keys %has ], [],
		"all their sources are in $name");
	is_deeply([ grep { !m{/main\.c$} && !$has{$_} } sort keys %listed ],
		[], 'and no others');

	# A name may be the end of a longer one, or of any text.
	my $text = slurp("$build/$program");
	is_deeply([ grep { index($text, $_) >= 0 } 'BROWSERTASK_TEST_CRASH',
		'crashpoint_pass', map { "\0$_\0" } @names ], [],
		'the program has nothing of them');
	SKIP: {
		skip 'the build for tests is not there', 1
		    if !-e "$build/$test";
		$text = slurp("$build/$test");
		is_deeply([ grep { index($text, "$_\0") < 0 }
			'BROWSERTASK_TEST_CRASH', @names ], [],
			'the build for tests has all of them');
	}
}
done_testing();
